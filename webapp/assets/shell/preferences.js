// @ts-check
/* Preferences, kept in cookies so that the server builds pages with them (webapp/preferences.py).

     popvision.preference(name)         "units": binary, si, bytes;  "time": cycles, time;  "reload": ask, always
     popvision.setPreference(name, v)   writes it; document receives "popvision:preference" with {name, value}
     popvision.preferences              name -> its values, the default first
*/
const shellPreferences = (() => {
  "use strict";
  const CHOICES = { units: ["binary", "si", "bytes"], time: ["cycles", "time"], reload: ["ask", "always"] };
  const kept = Object.fromEntries(Object.keys(CHOICES).map((name) => [name, read(name)]));

  function read(name) {
    const found = document.cookie.split("; ").find((each) => each.startsWith("popvision_" + name + "="));
    const value = found ? found.split("=")[1] : "";
    return CHOICES[name].includes(value) ? value : CHOICES[name][0];
  }

  function setPreference(name, value) {
    if (!CHOICES[name] || !CHOICES[name].includes(value) || kept[name] === value) return;
    kept[name] = value;
    document.cookie = "popvision_" + name + "=" + value + "; path=/; max-age=31536000; samesite=strict";
    document.dispatchEvent(new CustomEvent("popvision:preference", { detail: { name, value } }));
  }

  return {
    preference: (name) => kept[name],
    setPreference,
    preferences: CHOICES,
  };
})();
Object.assign(popvision, shellPreferences);
