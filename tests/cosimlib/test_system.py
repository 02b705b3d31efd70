"""Systems: what they hold, what they refuse, and that they travel."""

import copy
import pickle
import re

import pytest

from cosimlib.system import THETA, System


def test_one_machine_is_one_partition():
    system = System.of(512)
    assert dict(system.partitions) == {"main": 512}
    assert (system.name, system.total_nodes, system.cores_per_node) == ("512 nodes", 512, 1)


def test_coupled_machines_are_several_partitions_in_order():
    system = System.of(intrepid=40960, eureka=100)
    assert list(system.partitions.items()) == [("intrepid", 40960), ("eureka", 100)]
    assert (system.name, system.total_nodes) == ("intrepid+eureka", 41060)


def test_either_a_number_or_partitions():
    for given, named in (((), {}), ((4,), {"other": 2})):
        with pytest.raises(ValueError, match="either a number of nodes or named partitions"):
            System.of(*given, **named)
    with pytest.raises(ValueError, match=r"^X: a system has at least one partition; got none"):
        System("X", {})
    with pytest.raises(
        ValueError, match=r"^nodes=4503599627370497; expected at most 4,503,599,627,370,496"
    ):
        System.of(2**52 + 1)
    with pytest.raises(ValueError, match=r"^nodes=True; expected a whole number from 1$"):
        System.of(True)


@pytest.mark.parametrize("nodes", [0, -3, 2.0, 1.5, True, "8", None])
def test_a_partition_has_a_whole_number_of_nodes(nodes):
    message = f"X: partitions['b']={nodes!r}; expected a whole number from 1"
    with pytest.raises(ValueError, match=re.escape(message)):
        System("X", {"a": 1, "b": nodes})


@pytest.mark.parametrize(
    "quantity", ["cores_per_node", "memory_per_node", "aggregate_bandwidth", "node_bandwidth"]
)
@pytest.mark.parametrize("value", [0, -2.5, "64", None])
def test_sizes_are_above_zero(quantity, value):
    with pytest.raises(ValueError, match=f"^X: {quantity}={value!r}; expected a number above 0"):
        System("X", {"a": 1}, **{quantity: value})


@pytest.mark.parametrize("partitions", [128, "main", None, ["main"]])
def test_partitions_are_a_mapping(partitions):
    with pytest.raises(TypeError, match=r"^partitions is .*; expected a mapping of nodes by part"):
        System("X", partitions)


def test_a_system_cannot_be_changed():
    nodes = {"main": 4}
    system = System("X", nodes)
    nodes["main"] = 5
    assert system.partitions["main"] == system.total_nodes == 4
    with pytest.raises(TypeError):
        system.partitions["main"] = 5
    with pytest.raises(AttributeError):
        system.name = "Y"


def test_another_size_of_the_same_machine():
    smaller = THETA.with_nodes(4360)
    assert dict(smaller.partitions) == {"main": 4360}
    assert smaller.total_nodes == 4360
    assert (smaller.name, smaller.node_bandwidth) == (THETA.name, THETA.node_bandwidth)
    with pytest.raises(ValueError, match=r"Theta: partitions\['main'\]=0; expected"):
        THETA.with_nodes(0)


@pytest.mark.parametrize("system", [THETA, System.of(b=1, a=2)])
def test_a_system_survives_pickling_and_copying(system):
    for same in (pickle.loads(pickle.dumps(system)), copy.deepcopy(system)):
        assert same.name == system.name
        assert list(same.partitions.items()) == list(system.partitions.items())
        assert same.total_nodes == system.total_nodes
        assert same.cores_per_node == system.cores_per_node
    assert pickle.loads(pickle.dumps(THETA)) == THETA
