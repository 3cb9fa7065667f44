"""The reference of the module as a page of Markdown, from its sources alone: `python3 python/reference.py > page.md`.

What `lienav` and `lienav.lie` offer, with signatures, shapes and units as their docstrings have them. A class that
stands on a compiled one has the members of its stub, too. Nothing has to be installed; Python 3.9 or newer runs it.
"""

import ast
import inspect
import pathlib
import re
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent / "lienav"


def parsed(name):
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


def named(tree):
    """Classes and functions of a module, and what it assigns, by name."""
    found = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[getattr(target, "id", "")] = node
    return found


STUB = named(parsed("_lienav.pyi"))


def offered(tree):
    """What `__all__` lists."""
    return [word.value for word in named(tree)["__all__"].value.elts]


def prose(text):
    """A docstring as Markdown: roles become code, examples a block."""
    text = re.sub(r":(?:class|func|meth|mod|attr):`~?([^`]+)`", r"`\1`", inspect.cleandoc(text))
    out, is_example = [], False
    for line in text.splitlines():
        begins = line.startswith(">>> ")
        if begins and not is_example:
            out += ["", "```python"]
            is_example = True
        elif is_example and not line.strip():
            out.append("```")
            is_example = False
        out.append(line)
    return "\n".join(out + ["```"] if is_example else out)


def documentation(body):
    """The docstring at the beginning of these statements, or ''."""
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str)
    return prose(first.value.value) if is_text else ""


def signature(function, is_method):
    given = ast.unparse(function.args)
    if is_method:
        given = re.sub(r"^(self|cls)(, )?(/(, )?)?", "", given)
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{function.name}({given}){result}"


def members(node):
    """Methods, and attributes with what is said of them: those of a compiled base come first."""
    methods, attributes = {}, {}
    for base in node.bases:
        name = ast.unparse(base)
        below = STUB.get(name.split(".")[1]) if name.startswith("_lienav.") else node.siblings.get(name)
        if isinstance(below, ast.ClassDef):
            below.siblings = node.siblings
            more = members(below)
            methods.update(more[0])
            attributes.update(more[1])
    for one, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(one, ast.FunctionDef):
            decorators = {ast.unparse(which) for which in one.decorator_list}
            if one.name == "__init__":
                # Attributes that are set there, each with a text below it.
                for line, below in zip(one.body, one.body[1:]):
                    target = getattr(line, "targets", [None])[0]
                    if documentation([below]) and isinstance(target, ast.Attribute):
                        attributes[target.attr] = ("", documentation([below]))
            elif one.name.startswith("_") or not documentation(one.body):
                continue
            elif "property" in decorators:
                attributes[one.name] = (ast.unparse(one.returns) if one.returns else "", documentation(one.body))
            else:
                methods[one.name] = one
        elif isinstance(one, ast.AnnAssign) and not one.target.id.startswith("_") and after is not None:
            attributes[one.target.id] = (ast.unparse(one.annotation), documentation([after]))
    return methods, attributes


def constructor(node):
    """How an instance is made, where a program makes one."""
    below = [STUB.get(ast.unparse(base).split(".")[-1]) for base in node.bases]
    for place in (node, *filter(None, below)):
        for one in place.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__new__":
                return signature(one, True).replace("__new__", node.name).split(" ->")[0]
    return node.name


def of_class(node, siblings, level):
    node.siblings = siblings
    methods, attributes = members(node)
    yield f"{level} {node.name}\n"
    if constructor(node) != node.name:
        yield f"```python\n{constructor(node)}\n```\n"
    yield documentation(node.body) + "\n"
    if attributes:
        yield "| attribute | type | |\n|---|---|---|"
        for name, (kind, text) in attributes.items():
            cells = [f"`{name}`", f"`{kind}`" if kind else "", " ".join(text.split())]
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield ""
    for one in methods.values():
        yield f"{level}# {node.name}.{one.name}\n\n```python\n{signature(one, True)}\n```\n\n{documentation(one.body)}\n"


def page():
    face = parsed("__init__.py")
    origin = {}
    for node in face.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            file = f"{node.module}.pyi" if node.module == "_lienav" else f"{node.module}.py"
            origin.update((alias.asname or alias.name, file) for alias in node.names)
    trees = {file: named(parsed(file)) for file in set(origin.values())}
    yield "# The Python module\n\nWhat `import lienav` gives, from its docstrings. [lienav in Python](python.md) begins earlier.\n"
    yield documentation(face.body) + "\n"
    listed = [name for name in offered(face) if name in origin and name != "__version__"]
    functions = [name for name in listed if isinstance(trees[origin[name]][name], ast.FunctionDef)]
    yield "## Functions\n"
    for name in functions:
        node = trees[origin[name]][name]
        yield f"### lienav.{name}\n\n```python\n{signature(node, False)}\n```\n\n{documentation(node.body)}\n"
    for name in listed:
        if name not in functions:
            yield from of_class(trees[origin[name]][name], trees[origin[name]], "##")
    lie = parsed("lie.py")
    yield "## lienav.lie\n\n" + documentation(lie.body) + "\n"
    yield from of_class(named(lie)["Group"], named(lie), "###")


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()))
