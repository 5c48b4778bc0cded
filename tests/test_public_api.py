"""Everything exported is on the API page and shows how it is used."""

import importlib
import inspect
import re

import pytest

EXPORTS = [
    getattr(module, name)
    for module in map(
        importlib.import_module,
        ["skbayes_sg", "skbayes_sg.datasets", "skbayes_sg.metrics"],
    )
    for name in module.__all__
]
PUBLIC = [obj for obj in EXPORTS if inspect.isclass(obj) or inspect.isfunction(obj)]


@pytest.mark.parametrize("obj", PUBLIC, ids=lambda obj: obj.__name__)
def test_is_on_the_api_page(obj, pytestconfig):
    page = (pytestconfig.rootpath / "doc" / "api.rst").read_text(encoding="utf-8")
    assert f"   {obj.__name__}\n" in page


@pytest.mark.parametrize("obj", PUBLIC, ids=lambda obj: obj.__name__)
def test_shows_its_use(obj):
    if not (inspect.isclass(obj) and issubclass(obj, Exception)):
        assert ">>> " in inspect.getdoc(obj)


@pytest.mark.parametrize(
    "obj",
    [obj for obj in PUBLIC if inspect.isclass(obj) and hasattr(obj, "get_params")],
    ids=lambda obj: obj.__name__,
)
def test_documents_every_parameter(obj):
    """Entries that all classes share are written once and appear on each of them."""
    section = inspect.getdoc(obj).split("Parameters\n-----")[1].split("\nAttributes\n")
    documented = re.findall(r"^(\w[\w, ]*?) : ", section[0], re.M)
    names = [name for entry in documented for name in entry.split(", ")]
    assert set(inspect.signature(obj).parameters) <= set(names)


def annotated(function):
    names = set(inspect.signature(function).parameters) - {"self", "cls"}
    return names | {"return"} <= set(function.__annotations__)


@pytest.mark.parametrize("obj", PUBLIC, ids=lambda obj: obj.__name__)
def test_methods_are_annotated(obj):
    functions = [obj]
    if inspect.isclass(obj):
        functions = [f for _, f in inspect.getmembers(obj, inspect.isfunction)]
    for function in map(inspect.unwrap, functions):
        public = not function.__name__.startswith("_")
        if public and function.__module__.startswith("skbayes_sg"):
            assert annotated(function), function.__qualname__
