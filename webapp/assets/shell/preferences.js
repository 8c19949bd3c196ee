// @ts-check
/* Preferences, kept in cookies so that the server builds pages with them (webapp/base/preferences.py).

     preference(name)         "units": binary, si, bytes;  "time": cycles, time;  "reload": ask, always
     setPreference(name, v)   writes it; document receives "popvision:preference" with {name, value}
     preferences              name -> its values, the default first
*/

/** @type {Record<string, string[]>} */
const CHOICES = { units: ["binary", "si", "bytes"], time: ["cycles", "time"], reload: ["ask", "always"] };
const values = Object.fromEntries(Object.keys(CHOICES).map((name) => [name, read(name)]));

/** @param {string} name */
function read(name) {
  const cookie = document.cookie.split("; ").find((each) => each.startsWith("popvision_" + name + "="));
  const value = cookie ? cookie.split("=")[1] : "";
  return CHOICES[name].includes(value) ? value : CHOICES[name][0];
}

/**
 * @param {string} name
 * @param {string} value
 */
function setPreference(name, value) {
  if (!CHOICES[name] || !CHOICES[name].includes(value) || values[name] === value) return;
  values[name] = value;
  document.cookie = "popvision_" + name + "=" + value + "; path=/; max-age=31536000; samesite=strict";
  document.dispatchEvent(new CustomEvent("popvision:preference", { detail: { name, value } }));
}

/** @param {string} name */
const preference = (name) => values[name];

export { preference, setPreference };
