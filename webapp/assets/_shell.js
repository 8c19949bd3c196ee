/* The frame of the viewer in the browser: the selection and its URL, moving between views, theme, menu, keys.

   popvision.select(patch)      merge {key: string or null}; writes the URL, hands the selection to every callback
   popvision.selection()        the current selection, a flat object of strings
   popvision.go(href)           move to another page without loading the frame again
   popvision.redraw()           build the page again where it is: units changed, or a report to compare with
   popvision.reload()           the same after reading the files again
   popvision.onSelect(fn)       call fn(selection, patch) on every change; returns a function that stops it
   popvision.theme()            "light" or "dark"; document receives the event "popvision:theme" when it changes
   popvision.token(name)        the value of a CSS variable of tokens.css
   popvision.mount(css, start)  call start(element) whenever a matching element appears; what it returns is called when
                                the element is gone
   popvision.hrefOf(link)       where a link of the menu leads with the selection of now
   popvision.run(action)        what a button with data-action does, such as "nav-theme"
   popvision.notice(text)       show a sentence at the bottom of the page
*/
(function () {
  "use strict";
  const SHARED = ["tiles", "ipu", "program", "step", "liveness", "variable", "from", "to", "vs"];
  const root = document.documentElement;
  const listeners = new Set();
  let current = read(window.location.search);
  let lastPath = null;
  let turn = 0;

  function read(search) {
    return Object.fromEntries(new URLSearchParams(search));
  }

  function write(params) {
    const text = new URLSearchParams(params).toString().replace(/%2C/g, ",");
    return text ? "?" + text : "";
  }

  function setProps(id, props) {
    window.dash_clientside.set_props(id, props);
  }

  function store(name, value) {
    try {
      window.localStorage.setItem(name, value);
    } catch (_) {
      /* private mode: not remembered */
    }
  }

  function select(patch) {
    const next = Object.assign({}, current);
    let changed = false;
    for (const [key, value] of Object.entries(patch || {})) {
      const text = value === null || value === undefined || value === "" ? undefined : String(value);
      if (next[key] === text) continue;
      changed = true;
      if (text === undefined) delete next[key];
      else next[key] = text;
    }
    if (!changed) return;
    current = next;
    window.history.replaceState(window.history.state, "", window.location.pathname + write(current));
    setProps("selection", { data: current });
    listeners.forEach((listener) => listener(current, patch));
  }

  /* ---- moving between pages ---- */

  function viewOf(path) {
    const parts = path.split("/");
    return parts.length > 3 ? parts.slice(1, 4).join("/") : null;
  }

  /* Extras of a view (its tab, its filter) come back when the user returns to it; shared keys follow everywhere. */
  function keepExtras() {
    const view = viewOf(window.location.pathname);
    if (!view) return;
    const extras = Object.fromEntries(Object.entries(current).filter(([key]) => !SHARED.includes(key)));
    try {
      window.sessionStorage.setItem("popvision:" + view, JSON.stringify(extras));
    } catch (_) {
      /* not kept */
    }
  }

  function hrefOf(link) {
    const path = link.getAttribute("href").split("?")[0];
    if (link.dataset.nav !== "view" || path === window.location.pathname) return link.getAttribute("href");
    const shared = Object.fromEntries(Object.entries(current).filter(([key]) => SHARED.includes(key)));
    let extras = {};
    try {
      extras = JSON.parse(window.sessionStorage.getItem("popvision:" + viewOf(path)) || "{}");
    } catch (_) {
      /* none */
    }
    return path + write(Object.assign(extras, shared));
  }

  function go(href) {
    keepExtras();
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }

  function visit(pathname, search) {
    const query = window.location.search;
    const path = window.location.pathname;
    const moved = path !== lastPath;
    current = read(query);
    if (moved) {
      lastPath = path;
      setNotice("");
      return [{ pathname: path, search: query, reload: 0 }, current, root.dataset.theme];
    }
    listeners.forEach((listener) => listener(current, current));
    return [window.dash_clientside.no_update, current, window.dash_clientside.no_update];
  }

  /* Build the page again where it is; with `reading`, from its files. `turn` makes each visit a new one. */
  function redraw(reading) {
    turn += 1;
    setProps("visit", {
      data: { pathname: window.location.pathname, search: window.location.search, reload: reading ? turn : 0, turn },
    });
  }

  function reloadPage() {
    redraw(true);
  }

  function setNotice(text) {
    setProps("notice", { children: text });
  }

  /* ---- theme and menu ---- */

  const system = window.matchMedia("(prefers-color-scheme: dark)");

  /* "light" or "dark", or "auto" to follow the system. */
  function setTheme(choice) {
    root.dataset.themeChoice = choice;
    root.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    store("popvision.theme", choice);
    setProps("theme", { data: root.dataset.theme });
    document.dispatchEvent(new CustomEvent("popvision:theme", { detail: root.dataset.theme }));
  }

  system.addEventListener("change", () => {
    if (root.dataset.themeChoice === "auto") setTheme("auto");
  });

  function foldMenu() {
    root.dataset.nav = root.dataset.nav === "narrow" ? "wide" : "narrow";
    store("popvision.nav", root.dataset.nav);
    window.dispatchEvent(new Event("resize"));
  }

  /* A dialog opens over the page; the same action closes it. */
  function listOwnKeys() {
    const own = document.querySelector("#page .view-shortcuts");
    document.getElementById("view-shortcuts").innerHTML = own ? own.dataset.keys : "";
    document.getElementById("own-shortcuts").hidden = !own;
  }

  function toggleDialog(id) {
    const dialog = document.getElementById(id);
    if (!dialog) return;
    if (dialog.open) {
      dialog.close();
      return;
    }
    document.querySelectorAll("dialog[open]").forEach((other) => other.close());
    if (id === "shortcuts") listOwnKeys();
    dialog.dispatchEvent(new CustomEvent("popvision:open"));
    dialog.showModal();
  }

  function focusSearch() {
    const box = document.querySelector("#page [data-search] input, #page input[type=search], #page .search input");
    if (box) {
      box.focus();
      if (box.select) box.select();
    }
  }

  const ACTIONS = {
    "nav-theme": () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"),
    "nav-collapse": foldMenu,
    "nav-reload": reloadPage,
    "nav-shortcuts": () => toggleDialog("shortcuts"),
    "nav-preferences": () => toggleDialog("preferences"),
    "nav-palette": () => toggleDialog("palette"),
    "close-dialog": (element) => element.closest("dialog").close(),
  };

  const canReload = () => document.querySelector('[data-action="nav-reload"]') !== null;
  const { add } = window.popvision.commands;
  add({
    title: "Search in this page",
    key: "/",
    keys: "/",
    run: focusSearch,
    when: () => document.querySelector("#page .search input") !== null,
  });
  add({ title: "Switch between light and dark", key: "t", keys: "t", run: ACTIONS["nav-theme"] });
  add({ title: "Read the files again", key: "r", keys: "r", run: reloadPage, when: canReload });
  add({
    title: "Fold or unfold the menu",
    key: "[",
    keys: "[",
    run: foldMenu,
    when: () => document.querySelector(".nav-views") !== null,
  });
  add({ title: "Show the keys", key: "?", keys: "?", run: ACTIONS["nav-shortcuts"] });
  add({ title: "Preferences: units, theme, reload", run: ACTIONS["nav-preferences"] });
  for (let index = 1; index <= 9; index += 1)
    add({
      hidden: true,
      title: "View " + index,
      key: String(index),
      run: () => goToView(index),
      when: () => linkOf(index) !== null,
    });

  const linkOf = (index) => document.querySelector('.nav-views [data-index="' + index + '"]');
  const goToView = (index) => go(hrefOf(linkOf(index)));

  document.addEventListener("popvision:preference", (event) => {
    if (event.detail.name !== "reload") redraw(false);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    if (button && ACTIONS[button.dataset.action]) {
      ACTIONS[button.dataset.action](button);
      return;
    }
    const skip = event.target.closest(".skip-link");
    if (skip) {
      event.preventDefault();
      document.getElementById("page").focus();
      return;
    }
    const link = event.target.closest("a[data-nav]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(hrefOf(link));
  });

  /* A link opened in another tab must carry the selection too. */
  for (const kind of ["pointerdown", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const link = event.target.closest && event.target.closest('a[data-nav="view"]');
      if (link) link.setAttribute("href", hrefOf(link));
    });
  }

  /* ---- parts of pages that are drawn in JavaScript ---- */

  const mounts = [];
  const mounted = new Map();

  function mount(selector, start) {
    mounts.push({ selector, start });
    lookForMounts();
  }

  function lookForMounts() {
    for (const [element, stop] of mounted) {
      if (!element.isConnected) {
        mounted.delete(element);
        if (stop) stop();
      }
    }
    for (const { selector, start } of mounts) {
      for (const element of document.querySelectorAll(selector)) {
        if (!mounted.has(element)) {
          mounted.set(element, null);
          mounted.set(element, start(element));
        }
      }
    }
  }

  new MutationObserver(lookForMounts).observe(document, { childList: true, subtree: true });

  window.popvision = Object.assign(window.popvision || {}, {
    mount,
    notice: setNotice,
    select,
    go,
    redraw: () => redraw(false),
    reload: reloadPage,
    hrefOf,
    setTheme,
    run: (action) => ACTIONS[action](),
    selection: () => current,
    sharedKeys: SHARED,
    onSelect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    theme: () => root.dataset.theme,
    themeChoice: () => root.dataset.themeChoice,
    token: (name) =>
      getComputedStyle(root)
        .getPropertyValue("--" + name)
        .trim(),
  });

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.popvision = Object.assign(window.dash_clientside.popvision || {}, {
    visit,
    mergeSelection: (patch) => {
      select(patch);
      return window.dash_clientside.no_update;
    },
  });
})();
