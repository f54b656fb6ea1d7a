"""Answers of calls, made from the classes of the workbench."""

import math
from typing import Annotated

import pytest
from pydantic import Field

from classmark.web.fields import CallAnswer, answer, listing, nullable
from classmark.workbench.deciding.sheet import Choice, Sheet
from classmark.workbench.results import Explained
from classmark.workbench.team.agreement import Pair

SUGGESTED = Explained("bees", ("Nature", "Bees"), 1, 0.5, {"hive": 0.2}, {}, None, None)


def test_every_field_is_answered_and_required():
    model = answer(Explained)
    schema = model.model_json_schema(mode="serialization")
    assert sorted(schema["required"]) == sorted(Explained.__annotations__)
    told = model.model_validate(SUGGESTED).model_dump(mode="json")
    assert told["path"] == ["Nature", "Bees"]
    assert told["favour"] == {"hive": 0.2}
    assert told["probability"] is None


def test_hidden_fields_are_not_answered():
    model = answer(Explained, "favour", "against")
    assert "favour" not in model.model_validate(SUGGESTED).model_dump()


def test_types_are_replaced_and_properties_added():
    documented = Annotated[str, Field(examples=["bees"])]
    model = answer(Explained, "path", category=documented, rank=float)
    properties = model.model_json_schema()["properties"]
    assert properties["category"]["examples"] == ["bees"]
    assert properties["rank"]["type"] == "number"


def test_classes_within_and_pairs_are_objects():
    choice = Choice("bees", ("Nature", "Bees"), favour=(("hive", 1.5),))
    sheet = Sheet("b1", "Bees", (), (), (choice,), "", 7)
    told = answer(Sheet).model_validate(sheet).model_dump()
    assert told["choices"][0]["favour"] == [{"word": "hive", "weight": 1.5}]


def test_what_is_not_defined_is_null():
    pair = Pair("ada", "bo", 3, 1, 0.5, math.nan, 0, math.nan)
    model = answer(Pair, **nullable(Pair))
    told = model.model_validate(pair).model_dump(mode="json")
    assert told["kappa"] is None
    assert told["alike"] == pytest.approx(0.5)


def test_a_list_of_answers():
    class Named(CallAnswer):
        name: str

    model = listing("People", "Everybody.", people=Named)
    told = model.model_validate({"people": [{"name": "ada"}]})
    assert told.model_dump() == {"people": [{"name": "ada"}]}
    assert model.__doc__ == "Everybody."
