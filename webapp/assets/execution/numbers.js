/* Numbers as text, and round positions for the axis. Cycles are device cycles; time is cycles divided by the device's clock. */
(function () {
  "use strict";
  const ex = ((window.popvision = window.popvision || {}).execution = window.popvision.execution || {});
  const UNITS = [
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
    ["ns", 1e-9],
  ];

  ex.integer = (value) => Math.round(value).toLocaleString("en-US");
  ex.percent = (share) =>
    share === null || share === undefined ? "–" : (100 * share).toFixed(share < 0.1 ? 2 : 1) + " %";

  ex.bytes = (value) => window.popvision.bytesText(value);

  function unitOf(seconds) {
    return UNITS.find((unit) => seconds >= unit[1]) || UNITS[UNITS.length - 1];
  }

  ex.seconds = function (seconds) {
    const [name, size] = unitOf(seconds);
    return Number((seconds / size).toPrecision(4)).toLocaleString("en-US") + " " + name;
  };

  ex.cyclesText = (cycles, clock, asTime) => (asTime ? ex.seconds(cycles / clock) : ex.integer(cycles) + " cycles");

  function roundStep(least) {
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999999);
  }

  /* Round positions in [from, to] about `apart` pixels from each other: {cycle, text}. */
  ex.ticks = function (viewport, apart, clock, asTime) {
    const perUnit = asTime ? clock : 1;
    const least = (apart * viewport.pitch) / ex.GRAIN / perUnit;
    const step = asTime ? roundStep(least) : Math.max(1, Math.round(roundStep(Math.max(1, least))));
    const unit = asTime ? unitOf(step * 20) : null;
    const digits = asTime ? Math.max(0, Math.ceil(-Math.log10(step / unit[1]) - 1e-9)) : 0;
    const ticks = [];
    const end = viewport.to / perUnit;
    for (let index = Math.ceil(viewport.from / perUnit / step); index * step <= end && ticks.length < 400; index += 1) {
      const value = index * step;
      const text = asTime
        ? (value / unit[1]).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) +
          " " +
          unit[0]
        : ex.integer(value);
      ticks.push({ cycle: value * perUnit, text });
    }
    return ticks;
  };
})();
