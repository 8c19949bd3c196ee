// @ts-check
/* Elements of the page, typed: what is missing is null or an error, never undefined.

   closest(event, css)   the nearest element at or above the target of an event that matches, or null
   all(css, within?)     all matching elements, in the order of the page
   part(css, within?)    the one matching element; throws when there is none
   siblings(element)     an element and its siblings, in order
   neighbour(element, n) the sibling n places on, round the end: arrow keys in tabs, segments and choices
   download(content, name) hands a text or blob to the user as a file
*/

/**
 * @param {Event} event
 * @param {string} css
 * @returns {HTMLElement | null}
 */
function closest(event, css) {
  return event.target instanceof Element ? event.target.closest(css) : null;
}

/**
 * @param {string} css
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
function all(css, within) {
  return Array.from((within || document).querySelectorAll(css));
}

/**
 * @param {string} css
 * @param {ParentNode} [within]
 * @returns {HTMLElement}
 */
function part(css, within) {
  const element = (within || document).querySelector(css);
  if (!(element instanceof HTMLElement)) throw new Error("no element " + css);
  return element;
}

/**
 * @param {HTMLElement} element
 * @returns {HTMLElement[]}
 */
function siblings(element) {
  const children = element.parentElement ? Array.from(element.parentElement.children) : [];
  return children.filter((each) => each instanceof HTMLElement);
}

/**
 * @param {HTMLElement} element
 * @param {number} places
 * @returns {HTMLElement}
 */
function neighbour(element, places) {
  const list = siblings(element);
  return list[(list.indexOf(element) + places + list.length) % list.length];
}

/**
 * @param {Blob} content
 * @param {string} name
 */
function download(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export { closest, all, part, siblings, neighbour, download };
