// @ts-check
/* Elements that are renewed in place: what stays the same stays the same element, with its focus, its place and the
   text selected in it. Elements are compared by their position, so a row that is inserted changes those after it.

   renewHtml(element, html)   make the content of an element that of some HTML of the server
*/

/**
 * @param {Element} element
 * @param {string} html
 */
function renewHtml(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  renewChildren(element, template.content);
}

/**
 * @param {Node} parent
 * @param {Node} wanted
 */
function renewChildren(parent, wanted) {
  const before = Array.from(parent.childNodes),
    after = Array.from(wanted.childNodes);
  after.forEach((node, index) => {
    if (index < before.length) renewNode(before[index], node);
    else parent.appendChild(node);
  });
  before.slice(after.length).forEach((node) => node.remove());
}

/**
 * @param {ChildNode} node
 * @param {ChildNode} wanted
 */
function renewNode(node, wanted) {
  if (node.isEqualNode(wanted)) return;
  if (node instanceof Text && wanted instanceof Text) node.data = wanted.data;
  else if (node instanceof Element && wanted instanceof Element && node.tagName === wanted.tagName) {
    for (const { name } of Array.from(node.attributes)) if (!wanted.hasAttribute(name)) node.removeAttribute(name);
    for (const { name, value } of Array.from(wanted.attributes)) node.setAttribute(name, value);
    renewChildren(node, wanted);
  } else node.replaceWith(wanted);
}

export { renewHtml };
