/* Types of the viewer's global objects. A script's own names are inferred: each file is one constant, named after its
   folder and file, whose fields are what other files may use through `popvision`. */

interface Popvision extends PopvisionFrame, PopvisionShared {
  plots: typeof plotsAxis & typeof plotsKeys;
  addressMap: typeof memoryAddressInput & typeof memoryAddressMap & typeof memoryAddressPaint;
  liveness: typeof livenessInput & typeof livenessPaint & typeof livenessPens;
  programs: typeof programsKeys &
    typeof programsLine &
    typeof programsRows &
    typeof programsSearch &
    typeof programsTexts;
  operations: typeof operationsPage;
  exchange: typeof exchangeAxes &
    typeof exchangeBars &
    typeof exchangeData &
    typeof exchangeInput &
    typeof exchangeMatrix &
    typeof exchangePlan &
    typeof exchangeScale & { current: any };
  execution: typeof executionBands &
    typeof executionBars &
    typeof executionBsp &
    typeof executionCursor &
    typeof executionFrame &
    typeof executionKeyboard &
    typeof executionMarks &
    typeof executionMouse &
    typeof executionNumbers &
    typeof executionOverview &
    typeof executionPacked &
    typeof executionPalette &
    typeof executionSearch &
    typeof executionSvg &
    typeof executionToolbar &
    typeof executionTooltip &
    typeof executionTrace &
    typeof executionTracePair &
    typeof executionViewport & { current: any; target: any };
  timeline: typeof timelineCharts &
    typeof timelineClock &
    typeof timelineFlames &
    typeof timelineFrame &
    typeof timelineInput &
    typeof timelineNames &
    typeof timelinePalette &
    typeof timelineRows &
    typeof timelineStrip &
    typeof timelineTimeline &
    typeof timelineTip &
    typeof timelineToolbar;
}

type PopvisionFrame = typeof popvisionCore &
  typeof shellCommands &
  typeof shellFrame &
  typeof shellPreferences &
  typeof shellProgress;
type PopvisionShared = typeof sharedDom & typeof sharedColourScale & typeof sharedFormats & typeof sharedTable;

declare var popvision: Popvision;

interface Window {
  dash_clientside: any;
  dash_ag_grid: any;
  dashAgGridFunctions: Record<string, unknown>;
  Plotly: any;
}

interface Element {
  /** Save the picture of a canvas that stands in the place of a plot. */
  saveImage?: (kind: string, name: string) => void;
}
