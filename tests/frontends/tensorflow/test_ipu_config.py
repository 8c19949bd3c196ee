"""IPUConfig refuses wrong names and types when they are assigned."""

import pytest

from simulator.frontends.tensorflow.config import DeviceConnectionType, IPUConfig


def test_values_are_checked_on_assignment() -> None:
    config = IPUConfig()
    assert config.device_connection.type is DeviceConnectionType.ALWAYS
    with pytest.raises(AttributeError, match=r"did you mean 'auto_select_ipus'"):
        config.auto_select_ipu = 1
    with pytest.raises(AttributeError, match=r"'device_connection.typ'.*did you mean 'type'"):
        config.device_connection.typ = DeviceConnectionType.NEVER
    with pytest.raises(TypeError, match=r"'device_connection.type' is 'NEVER' of type str"):
        config.device_connection.type = "NEVER"
    with pytest.raises(TypeError, match=r"'auto_select_ipus' is True"):
        config.auto_select_ipus = True
    with pytest.raises(AttributeError, match=r"category"):
        config.device_connection = IPUConfig().device_connection
    assert config.get_attribute_metadata("device_connection.version").types == (str,)


def test_options_of_one_configuration_are_its_own() -> None:
    one, other = IPUConfig(), IPUConfig()
    one.compilation_poplar_options["debug.instrument"] = "true"
    one.device_connection.version = "ipu1"
    assert other.compilation_poplar_options == {}
    assert other.device_connection.version == ""


@pytest.mark.parametrize("kind", [DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE])
def test_types_without_a_device_need_a_version(kind: DeviceConnectionType) -> None:
    config = IPUConfig()
    config.device_connection.type = kind
    with pytest.raises(ValueError, match=r"device_connection.version must be set when device_connection.type is"):
        config.configure_ipu_system()
