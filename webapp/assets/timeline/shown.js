// @ts-check
/* The timeline on the page, and what its parts share. */

const NAMES = 250; /* pixels: the column of the rows' names */

/** @type {{ current: any }} */
const shown = { current: null };

/* An event in addresses. */
const eventKey = (event) => event.thread + "." + (event.depth < 0 ? "i" : event.depth) + "." + event.position;

export { NAMES, shown, eventKey };
