// @ts-check
/* The traces on the page, and where their bars begin. */

const GUTTER = 58; /* pixels left of the bars */

/** @type {Record<string, any>} the trace of the report, and that of the report compared with */
const traces = { current: null, target: null };

export { GUTTER, traces };
