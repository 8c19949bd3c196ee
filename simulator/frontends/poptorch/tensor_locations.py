"""Options.TensorLocations: where PopTorch stores tensors. All tensors of the simulated model lie in tile memory."""

from __future__ import annotations

from simulator.frontends.poptorch.errors import OptionError
from simulator.frontends.poptorch.option_group import OptionGroup, checked_bool, checked_count, setter


class TensorLocationSettings(OptionGroup):
    """Where tensors of one kind are stored. Only what is set exists."""

    path = "TensorLocationSettings."

    @setter
    def minElementsForOffChip(self, min_elements: int) -> None:
        """Smaller tensors stay on the chip."""
        self.createOrSet(minElementsForOffChip=_elements("minElementsForOffChip", min_elements))

    @setter
    def minElementsForReplicatedTensorSharding(self, min_elements: int) -> None:
        """Smaller tensors are not divided among replicas."""
        count = _elements("minElementsForReplicatedTensorSharding", min_elements)
        self.createOrSet(minElementsForReplicatedTensorSharding=count)

    @setter
    def useOnChipStorage(self, use: bool | None = True) -> None:
        """On the chip, or off it; None: as PopART decides."""
        if use is None:
            self.deleteIfExists("onChip")
        else:
            self.createOrSet(onChip=_switch("useOnChipStorage", use))

    @setter
    def useReplicatedTensorSharding(self, use: bool = True) -> None:
        """Divide tensors among replicas."""
        self.createOrSet(useReplicatedTensorSharding=_switch("useReplicatedTensorSharding", use))

    @setter
    def useIOTilesToLoad(self, use: bool = True) -> None:
        """Load through IO tiles."""
        self.createOrSet(useIOTilesToLoad=_switch("useIOTilesToLoad", use))

    @setter
    def useIOTilesToStore(self, use: bool = True) -> None:
        """Store through IO tiles."""
        self.createOrSet(useIOTilesToStore=_switch("useIOTilesToStore", use))


class TensorLocationOptions(OptionGroup):
    """`Options.TensorLocations`."""

    path = "TensorLocations."

    @setter
    def numIOTiles(self, num_tiles: int) -> None:
        """Tiles that do input and output only."""
        is_count = isinstance(num_tiles, int) and not isinstance(num_tiles, bool)
        if not is_count or not 32 <= num_tiles <= 192 or num_tiles % 2:
            raise OptionError("numIOTiles must be an even number between 32 and 192.")
        self.createOrSet(numIOTiles=num_tiles)

    @setter
    def setActivationLocation(self, location: TensorLocationSettings) -> None:
        """Of activations."""
        self.createOrSet(location_activation=_settings("setActivationLocation", location))

    @setter
    def setWeightLocation(self, location: TensorLocationSettings) -> None:
        """Of weights."""
        self.createOrSet(location_weight=_settings("setWeightLocation", location))

    @setter
    def setOptimizerLocation(self, location: TensorLocationSettings) -> None:
        """Of the optimizer's states."""
        self.createOrSet(location_optimizer=_settings("setOptimizerLocation", location))

    @setter
    def setAccumulatorLocation(self, location: TensorLocationSettings) -> None:
        """Of gradient accumulators."""
        self.createOrSet(location_accumulator=_settings("setAccumulatorLocation", location))


def _elements(name: str, count: int) -> int:
    return checked_count(f"TensorLocationSettings.{name}", count, least=0)


def _switch(name: str, use: bool) -> int:
    return int(checked_bool(f"TensorLocationSettings.{name}", use))


def _settings(name: str, location: TensorLocationSettings) -> dict[str, int]:
    if not isinstance(location, TensorLocationSettings):
        raise OptionError(f"TensorLocations.{name} takes a poptorch.TensorLocationSettings, not {location!r}.")
    return location.toDict()
