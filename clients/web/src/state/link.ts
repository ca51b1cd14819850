// A question as part of a URL: its message, deflated, in the fragment, which no server sees.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";

// More than any request may hold; a link that unpacks to more is none of ours.
const MAX_BYTES = 1 << 21;

export class BadLink extends Error {}

/** Deflated and in URL-safe base64. */
export async function pack(bytes: Uint8Array): Promise<string> {
  const deflated = await through(bytes, new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of deflated) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws BadLink where `text` is not what pack() made. */
export async function unpack(text: string): Promise<Uint8Array> {
  try {
    const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return await through(Uint8Array.from(packed, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw"));
  } catch (error) {
    throw new BadLink(error instanceof BadLink ? error.message : "the link is cut short or not one of this page's");
  }
}

export async function packMessage<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Promise<string> {
  return pack(toBinary(schema, message));
}

export async function unpackMessage<Desc extends DescMessage>(schema: Desc, text: string): Promise<MessageShape<Desc>> {
  const bytes = await unpack(text);
  try {
    return fromBinary(schema, bytes);
  } catch {
    throw new BadLink("the link holds no question that this page can read");
  }
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const writer = (stream.writable as WritableStream<BufferSource>).getWriter();
  // An error of the stream is met where it is read.
  writer.write(bytes as BufferSource).catch(() => undefined);
  writer.close().catch(() => undefined);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = (stream.readable as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MAX_BYTES) {
      void reader.cancel();
      throw new BadLink("the link holds more than any question may");
    }
    chunks.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
