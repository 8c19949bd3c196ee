// @ts-check
/* Every script of the pages, in the order in which they start: the frame, what several views share, the views. A script
   imports what it uses, so most of them start before the one that is named here.

   No other script assigns a global object: dash_clientside and dashAgGridFunctions hold what Dash and its tables call
   by name, popvision what tests and benchmarks ask of a page. */
import * as viewer from "./shell/viewer.js";
import "./shell/commands.js";
import "./shell/compare.js";
import "./shell/export_page.js";
import { run } from "./shell/frame.js";
import "./shell/hints.js";
import "./shell/palette.js";
import { setPreference } from "./shell/preferences.js";
import "./shell/preferences_dialog.js";
import { waiting } from "./shell/progress.js";
import "./shell/report_list.js";
import "./shell/start.js";
import "./shell/upload.js";
import "./shell/watch_report.js";
import "./shared/fold.js";
import "./shared/params.js";
import "./shared/popover.js";
import "./shared/row_export.js";
import "./shared/split.js";
import { gridFunctions } from "./shared/table.js";
import "./shared/tabs.js";
import * as axis from "./shared/plots/axis.js";
import "./shared/plots/keys.js";
import * as legend from "./shared/plots/legend.js";
import "./shared/plots/navigation.js";
import "./shared/plots/save.js";
import "./catalogue/catalogue.js";
import "./catalogue/what_if.js";
import { shown as shownExchange } from "./exchange/board.js";
import * as exchangeInput from "./exchange/input.js";
import "./execution/step_rows.js";
import "./execution/trace.js";
import "./liveness/heat.js";
import "./memory/address_map.js";
import * as memoryRows from "./memory/rows.js";
import "./operations/graph.js";
import * as operationsPage from "./operations/page.js";
import * as overview from "./overview/overview.js";
import "./programs/tree.js";
import "./source_code/source.js";
import "./sql/pins.js";
import "./sql/sql.js";
import * as timelineTables from "./timeline/tables.js";
import "./timeline/timeline.js";
import "./watched/margin.js";
import { ROW } from "./execution/bars.js";
import { GUTTER, traces } from "./execution/shown.js";
import { svg } from "./execution/svg.js";
import { xOf, yOf } from "./memory/address_paint.js";
import { contextOf, makeCanvas } from "./shared/canvas/pens.js";
import { colourScale } from "./shared/colour_scale.js";
import { bytesText } from "./shared/formats.js";
import { NAMES, shown as shownTimeline } from "./timeline/shown.js";
import { Slivers } from "./timeline/slivers.js";

window.dash_clientside = Object.assign(window.dash_clientside || {}, {
  popvision: viewer.callbacks,
  exchange: exchangeInput.callbacks,
  memory: memoryRows.callbacks,
  operations: operationsPage.callbacks,
  overview: overview.callbacks,
  plots: { ...axis.callbacks, ...legend.callbacks },
  timeline: timelineTables.callbacks,
});

window.dashAgGridFunctions = Object.assign(window.dashAgGridFunctions || {}, gridFunctions);

const { go, notice, redraw, select, selection, setTheme, sharedKeys } = viewer;
window.popvision = {
  bytesText,
  colourScale,
  go,
  notice,
  redraw,
  run,
  select,
  selection,
  setPreference,
  setTheme,
  sharedKeys,
  waiting,
  addressMap: { xOf, yOf },
  canvas: { contextOf, makeCanvas },
  exchange: shownExchange,
  execution: {
    GUTTER,
    ROW,
    svg,
    get current() {
      return traces.current;
    },
    get target() {
      return traces.target;
    },
  },
  timeline: {
    NAMES,
    Slivers,
    get current() {
      return shownTimeline.current;
    },
  },
};
