// The clients of what answers this page.
import { createClient } from "@connectrpc/connect";
import { CatalogService } from "../generated/flightplan/v1/catalog_service_pb";
import { ResolverService } from "../generated/flightplan/v1/resolver_service_pb";
import { transport } from "./transport";

export const resolver = createClient(ResolverService, transport);
export const catalog = createClient(CatalogService, transport);
