// @ts-check
/* Colours of the timeline: tokens of the theme, channels of the file, ramps of heat maps. */
const timelinePalette = (() => {
  "use strict";
  const PLAIN = [
    "surface",
    "raised",
    "sunken",
    "hover",
    "chosen",
    "ink",
    "muted",
    "faint",
    "line",
    "line-strong",
    "accent",
    "focus",
    "grid",
    "axis",
  ];
  const HEAT = {
    light: [
      ["#fdf3b4", "#e8590c"],
      ["#eef6b5", "#2b8a3e"],
      ["#e6ecff", "#3b5bdb"],
      ["#fde8f1", "#a61e4d"],
    ],
    dark: [
      ["#5a4a1c", "#ff9f43"],
      ["#3a4a1f", "#8ce99a"],
      ["#27345c", "#91a7ff"],
      ["#4d2338", "#faa2c1"],
    ],
  };

  function readPalette() {
    const style = getComputedStyle(document.documentElement);
    const token = (name) => style.getPropertyValue("--" + name).trim();
    const theme = popvision.theme();
    return {
      theme,
      font: token("font"),
      plain: Object.fromEntries(PLAIN.map((name) => [name, token(name)])),
      series: [1, 2, 3, 4, 5, 6].map((each) => token("series-" + each)),
      heat: HEAT[theme] || HEAT.light,
    };
  }

  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const mix = (from, to, share) =>
    "rgb(" +
    parts(from)
      .map((each, at) => Math.round(each + (parts(to)[at] - each) * share))
      .join(",") +
    ")";

  /* `count` colours from pale to strong after the one of an empty cell. */
  const ramp = (empty, pale, strong, count) =>
    [empty].concat(Array.from({ length: count }, (_, at) => mix(pale, strong, at / (count - 1))));

  return { readPalette, ramp };
})();
Object.assign(popvision.timeline, timelinePalette);
