/* Runs before the first paint: theme and folded menu as the user left them. Storage may be forbidden; then defaults. */
(function () {
  "use strict";
  var root = document.documentElement;
  function stored(name) {
    try { return window.localStorage.getItem(name); } catch (_) { return null; }
  }
  var dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  var theme = stored("popvision.theme");
  root.dataset.themeChoice = theme === "light" || theme === "dark" ? theme : "auto";
  root.dataset.theme = root.dataset.themeChoice !== "auto" ? theme : dark ? "dark" : "light";
  root.dataset.nav = stored("popvision.nav") === "narrow" ? "narrow" : "wide";
})();
