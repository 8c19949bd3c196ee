// @ts-check
/* The scripts of the plots and tables that a page opens with (webapp/shell/index_page.py) run while the server builds
   it.

   They are links of the head, so that the browser has them by then. Dash's plot takes window.Plotly if there is one,
   else it loads the script again: while it is on its way, window.Plotly is the promise of it. */

const PLOTLY = /\/plotly\.min\.js$/;

/** @param {Promise<void>} loaded */
function promisePlotly(loaded) {
  /** @param {any} value */
  const settle = (value) =>
    Object.defineProperty(window, "Plotly", { value, writable: true, configurable: true, enumerable: true });
  Object.defineProperty(window, "Plotly", { get: () => loaded, set: settle, configurable: true });
  loaded.catch(() => settle(undefined));
}

/** @param {string} address */
function run(address) {
  const script = document.createElement("script");
  script.async = true;
  script.src = address;
  /** @type {Promise<void>} */
  const loaded = new Promise((resolve, reject) => {
    script.onload = () => resolve();
    script.onerror = reject;
  });
  if (PLOTLY.test(address) && !window.Plotly) promisePlotly(loaded);
  else loaded.catch(() => undefined); // Dash loads it when it is needed
  document.head.append(script);
}

function runAhead() {
  for (const link of document.querySelectorAll("link[data-ahead]")) {
    link.remove();
    run(link.getAttribute("href") || "");
  }
}

export { runAhead };
