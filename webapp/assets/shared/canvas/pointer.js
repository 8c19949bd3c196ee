// @ts-check
/* The pointer over a canvas: its place, drags, the wheel, and the box that says what lies under it. */

const CLICK = 4; /* pixels that a click may move */
const LINE = 16; /* pixels of a wheel that counts lines */

/**
 * Where an event is in an element, pixels.
 *
 * @param {MouseEvent} event
 * @param {Element} element
 * @returns {Point}
 */
function pointIn(event, element) {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/**
 * @param {Point} one
 * @param {Point} other
 */
const isClick = (one, other) => Math.hypot(one.x - other.x, one.y - other.y) < CLICK;

/**
 * Follow drags with the main button. `press` answers with the drag's handlers, or null when nothing begins there:
 * move(point, event) after the pointer has left the place of a click, drop(point, event) after a drag,
 * click(point, event) when it never moved, cancel() when the browser takes the pointer away.
 *
 * @param {Canvas.Listeners} listeners
 * @param {HTMLElement} element
 * @param {(point: Point, event: PointerEvent) => Drag | null} press
 */
function followDrags(listeners, element, press) {
  /** @type {Drag | null} */
  let drag = null;
  let begin = { x: 0, y: 0 };
  let moved = false;
  listeners.on(element, "pointerdown", (event) => {
    if (event.button) return;
    begin = pointIn(event, element);
    moved = false;
    drag = press(begin, event);
    if (drag) element.setPointerCapture(event.pointerId);
  });
  listeners.on(element, "pointermove", (event) => {
    if (!drag) return;
    const point = pointIn(event, element);
    moved = moved || !isClick(point, begin);
    if (moved && drag.move) drag.move(point, event);
  });
  listeners.on(element, "pointerup", (event) => {
    const ended = drag;
    drag = null;
    const point = pointIn(event, element);
    if (ended && moved && ended.drop) ended.drop(point, event);
    if (ended && !moved && ended.click) ended.click(point, event);
  });
  listeners.on(element, "pointercancel", () => {
    const ended = drag;
    drag = null;
    if (ended && ended.cancel) ended.cancel();
  });
}

/**
 * The wheel in pixels: `x` to the right, `y` down, `main` the one that moved (Shift turns y into x in some browsers).
 *
 * @param {WheelEvent} event
 */
function wheelOf(event) {
  const scale = event.deltaMode ? LINE : 1;
  const [x, y] = [event.deltaX * scale, event.deltaY * scale];
  return { x, y, main: y || x, isSideways: Math.abs(x) > Math.abs(y) };
}

/**
 * Show a box beside a point of its host, on the side where there is room.
 *
 * @param {HTMLElement} box
 * @param {HTMLElement} host
 * @param {Point} point
 * @param {number} [bottom] the box stays above it; default: the host's height
 */
function placeTip(box, host, { x, y }, bottom = host.clientHeight) {
  box.hidden = false;
  const [width, height] = [box.offsetWidth, box.offsetHeight];
  const left = x + 16 + width > host.clientWidth ? x - width - 12 : x + 16;
  const above = y + 16 + height > bottom;
  const top = above ? Math.max(4, Math.min(y - 12 - height, bottom - height - 4)) : y + 16;
  box.style.left = Math.max(4, left) + "px";
  box.style.top = top + "px";
}

/**
 * A line of such a box.
 *
 * @param {string} text
 * @param {string} className
 */
const tipLine = (text, className) => Object.assign(document.createElement("div"), { textContent: text, className });

/**
 * A line of such a box: a name and its value.
 *
 * @param {string} className
 * @param {string} name
 * @param {string} value
 */
function tipRow(className, name, value) {
  const row = Object.assign(document.createElement("div"), { className });
  for (const text of [name, value]) row.append(Object.assign(document.createElement("span"), { textContent: text }));
  return row;
}

export { pointIn, isClick, followDrags, wheelOf, placeTip, tipLine, tipRow };
