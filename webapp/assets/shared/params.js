/* Controls that write one key of the selection: [data-param] on selects, boxes, switches and segments (components/toolbar.py). */
(function () {
  "use strict";
  const timers = new Map();

  function write(param, value) {
    window.clearTimeout(timers.get(param));
    timers.delete(param);
    window.popvision.select({ [param]: value });
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-param]")) write(event.target.dataset.param, event.target.value);
  });

  document.addEventListener("input", (event) => {
    const box = event.target.closest(".search[data-param], .number-box[data-param]");
    if (!box) return;
    const param = box.dataset.param;
    window.clearTimeout(timers.get(param));
    const path = window.location.pathname; /* who leaves meanwhile must not find it in the next page's address */
    timers.set(
      param,
      window.setTimeout(() => {
        if (window.location.pathname === path && box.isConnected) write(param, event.target.value);
      }, 200),
    );
  });

  document.addEventListener("keydown", (event) => {
    const box = event.target.closest && event.target.closest(".search[data-param], .number-box[data-param]");
    if (box && event.key === "Enter") write(box.dataset.param, event.target.value);
    if (box && event.key === "Escape") event.target.blur();
    const segment = event.target.closest && event.target.closest(".segment");
    if (segment && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      const all = Array.from(segment.parentElement.children);
      const step = event.key === "ArrowRight" ? 1 : all.length - 1;
      const next = all[(all.indexOf(segment) + step) % all.length];
      event.preventDefault();
      next.focus();
      next.click();
    }
  });

  document.addEventListener("click", (event) => {
    const control = event.target.closest("button[data-param]");
    if (control && control.classList.contains("toggle")) {
      const on = control.getAttribute("aria-checked") !== "true";
      control.setAttribute("aria-checked", on ? "true" : "false");
      write(control.dataset.param, on ? control.dataset.on : control.dataset.off);
    } else if (control && control.classList.contains("segment")) {
      for (const each of control.parentElement.children)
        each.setAttribute("aria-checked", each === control ? "true" : "false");
      write(control.dataset.param, control.dataset.value);
    }
    /* A popover closes when something else is clicked. */
    for (const open of document.querySelectorAll("details.popover[open]")) {
      if (!open.contains(event.target)) open.removeAttribute("open");
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const open of document.querySelectorAll("details.popover[open]")) {
      open.removeAttribute("open");
      open.querySelector("summary").focus();
    }
  });
})();
