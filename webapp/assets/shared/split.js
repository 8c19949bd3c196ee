/* Handles of webapp/components/split.py: drag, arrow keys, Home; places are remembered by name. */
(function () {
  "use strict";
  const clamp = (value) => Math.min(90, Math.max(10, value));

  function place(box, percent, keep) {
    const value = clamp(percent);
    box.style.setProperty("--split", value.toFixed(2) + "%");
    box.querySelector(".split-handle").setAttribute("aria-valuenow", String(Math.round(value)));
    if (keep) {
      try {
        window.localStorage.setItem("popvision.split." + box.dataset.split, value.toFixed(2));
      } catch (_) {
        /* not kept */
      }
    }
    window.dispatchEvent(new Event("resize"));
  }

  function restore(box) {
    if (box.dataset.placed) return;
    box.dataset.placed = "yes";
    let stored = null;
    try {
      stored = window.localStorage.getItem("popvision.split." + box.dataset.split);
    } catch (_) {
      /* none */
    }
    if (stored !== null && Number.isFinite(Number(stored))) place(box, Number(stored), false);
  }

  function at(box, event) {
    const area = box.getBoundingClientRect();
    return box.classList.contains("split-rows")
      ? (100 * (event.clientY - area.top)) / area.height
      : (100 * (event.clientX - area.left)) / area.width;
  }

  document.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest(".split-handle");
    if (!handle || event.button) return;
    const box = handle.parentElement;
    handle.setPointerCapture(event.pointerId);
    const move = (each) => place(box, at(box, each), false);
    const stop = (each) => {
      handle.removeEventListener("pointermove", move);
      place(box, at(box, each), true);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", stop, { once: true });
    event.preventDefault();
    handle.focus();
  });

  document.addEventListener("dblclick", (event) => {
    const handle = event.target.closest(".split-handle");
    if (handle) place(handle.parentElement, Number(handle.parentElement.dataset.percent), true);
  });

  document.addEventListener("keydown", (event) => {
    if (!event.target.classList || !event.target.classList.contains("split-handle")) return;
    const box = event.target.parentElement;
    const now = parseFloat(box.style.getPropertyValue("--split"));
    const steps = { ArrowUp: -2, ArrowLeft: -2, ArrowDown: 2, ArrowRight: 2, PageUp: -10, PageDown: 10 };
    const to = event.key === "Home" ? Number(box.dataset.percent) : event.key in steps ? now + steps[event.key] : null;
    if (to === null) return;
    event.preventDefault();
    place(box, to, true);
  });

  new MutationObserver(() => document.querySelectorAll("[data-split]").forEach(restore)).observe(document, {
    childList: true,
    subtree: true,
  });
})();
