/* What the scripts ask of a browser while they load: a page without elements, in the light theme. Import it before a
   script that needs it. `address` and `answers` are what a test sets. */

const nothing = () => {};

/** Colours of CSS variables: a name not set here is #000000. */
export const tokens = new Map();

/** What fetch is asked for, and what it answers. */
export const asked = [];
export const answers = [];

/** Properties that scripts set on components of Dash: [id, properties]. */
export const written = [];

class Element {}

class FakeCanvas {
  getContext() {
    return new FakePen(this);
  }
}

/** The pen of a canvas that keeps the pixels put into it. */
class FakePen {
  constructor(canvas) {
    this.canvas = canvas;
    this.drawn = [];
  }

  createImageData(width, height) {
    return { width, height, data: new Uint8ClampedArray(4 * width * height) };
  }

  putImageData(image) {
    this.canvas.image = image;
  }

  drawImage(canvas, ...places) {
    this.drawn.push({ image: canvas.image, places });
  }
}

export const makePen = () => new FakePen(new FakeCanvas());

const root = { dataset: { theme: "light", themeChoice: "auto" } };
const location = { pathname: "/r/report/memory", search: "" };

Object.assign(globalThis, {
  Element,
  HTMLElement: Element,
  HTMLInputElement: Element,
  CustomEvent: class {
    constructor(type, options) {
      Object.assign(this, { type, ...options });
    }
  },
  MutationObserver: class {
    observe() {}
  },
  document: {
    cookie: "",
    documentElement: root,
    addEventListener: nothing,
    dispatchEvent: nothing,
    getElementById: () => null,
    querySelector: () => null,
    querySelectorAll: () => [],
    createElement: (tag) => (tag === "canvas" ? new FakeCanvas() : new Element()),
  },
  getComputedStyle: () => ({ getPropertyValue: (name) => tokens.get(name) || "#000000" }),
  fetch: async (address) => {
    asked.push(address);
    return answers.shift();
  },
});

globalThis.window = Object.assign(globalThis, {
  location,
  history: {
    state: null,
    replaceState: (_state, _title, address) => {
      const [path, query] = address.split("?");
      Object.assign(location, { pathname: path, search: query ? "?" + query : "" });
    },
  },
  matchMedia: () => ({ matches: false, addEventListener: nothing }),
  dash_clientside: { no_update: "no update", set_props: (id, props) => written.push([id, props]) },
});
