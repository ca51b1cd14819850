// Generated from resolver/estimate/effect.cc by clients/web/pair_error.py.

/** Relative errors of a difference of two forecasts, by wall. */
export const PAIR_ERRORS: Readonly<Record<string, number>> = {
  compute: 0.25,
  communication: 0.35,
  host: 0.45,
  bubble: 0.2,
  optimizer: 0.3,
};

/** Of a step: what repeated runs differ by. */
export const PAIR_FLOOR = 0.01;
