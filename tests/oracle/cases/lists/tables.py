"""Cases of modules, from the rows of tables."""

from harness import module


def table(*entries):
    """Returns cases for entries (class, arguments…, {keywords}, [inputs])."""
    out = []
    for name, *rest in entries:
        x = rest.pop()
        keywords = rest.pop() if rest and isinstance(rest[-1], dict) else {}
        options = keywords.pop("_", {})
        out.append(module(name, *rest, x=x, _=options, **keywords))
    return out


def built(name, lua, python, x, **options):
    return module((name, lua, python), x=x, _=options)
