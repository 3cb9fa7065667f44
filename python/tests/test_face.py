"""What a user sees of the module: documentation, types, notebooks."""

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import lienav

PACKAGE = pathlib.Path(lienav.__file__).parent
SOURCE = pathlib.Path(__file__).resolve().parents[1]


def public():
    for name in lienav.__all__:
        value = getattr(lienav, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield name, value


def test_everything_public_is_documented():
    bare = [name for name, value in public() if not inspect.getdoc(value)]
    for name, value in public():
        if inspect.isclass(value):
            members = [m for m in dir(value) if not m.startswith("_") and callable(getattr(value, m))]
            helpers = {"run_arrays", "run_recording", "settings_json", "with_traceback", "add_note"}
            bare += [f"{name}.{m}" for m in members if m not in helpers and not inspect.getdoc(getattr(value, m))]
    assert bare == []


@pytest.mark.parametrize("name", ["lienav._data", "lienav._slam", "lienav._attitude", "lienav._judge", "lienav.lie"])
def test_examples_in_the_documentation_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0 and result.attempted > 0


def test_the_stubs_are_those_of_the_compiled_module():
    """Every class, function and parameter of the stub is there, and the other way round."""
    from lienav import _lienav

    stub = ast.parse((PACKAGE / "_lienav.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    there = {name for name in dir(_lienav) if not name.startswith("__")}
    assert there == functions.keys() | classes.keys()

    def parameters(node):
        arguments = node.args
        return [a.arg for a in arguments.args + arguments.kwonlyargs if a.arg not in ("self", "cls")]

    def found(value):
        return [name for name in inspect.signature(value).parameters if name != "self"]

    for name, node in functions.items():
        assert parameters(node) == found(getattr(_lienav, name)), name
    for name, node in classes.items():
        value = getattr(_lienav, name)
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        there = {m for m in vars(value) if not m.startswith("_")}
        assert there == {m for m in members if not m.startswith("_")}, name
        for member, one in members.items():
            if not one.decorator_list and not member.startswith("__"):
                assert parameters(one) == found(getattr(value, member)), (name, member)


def test_the_types_are_consistent(tmp_path):
    pytest.importorskip("mypy")
    call = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", str(tmp_path)]
    done = subprocess.run([*call, "-p", "lienav"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def blocks():
    text = (SOURCE.parent / "docs" / "python.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    """docs/python.md, from its first block to its last, but those that want another engine."""
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(blocks()) > 5
    for block in blocks():
        if not any(engine in block for engine in ("import ray", "mpi4py", "distributed")):
            exec(compile(block, "docs/python.md", "exec"), names)


NOTEBOOKS = sorted((SOURCE / "notebooks").glob("*.ipynb"))


def test_there_are_four_notebooks_without_output():
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert '"outputs": []' in path.read_text() and "image/png" not in path.read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    try:
        nbclient.NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
    finally:
        os.environ["MPLBACKEND"] = "agg"
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert "image/png" in kinds
