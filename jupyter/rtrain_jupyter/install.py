"""rtrain-jupyter: registers the kernel with Jupyter, and removes it."""

import argparse
import json
import os
import pathlib
import sys
import tempfile

_NAME = "rtrain"
_MODULE = "rtrain_jupyter"


def spec(display_name, executable):
    """The contents of kernel.json."""
    out = {
        "argv": [sys.executable, "-m", _MODULE, "-f", "{connection_file}"],
        "display_name": display_name,
        "language": "lua",
        "interrupt_mode": "signal",
    }
    if executable:
        out["env"] = {"RTRAIN": os.path.abspath(executable)}
    return out


def _install(options):
    from jupyter_client.kernelspec import KernelSpecManager

    prefix = sys.prefix if options.sys_prefix else options.prefix
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        document = spec(
            options.display_name or ("rtrain (Lua)" if options.name == _NAME else options.name), options.executable
        )
        (pathlib.Path(folder) / "kernel.json").write_text(json.dumps(document, indent=1) + "\n")
        place = KernelSpecManager().install_kernel_spec(
            folder, options.name, user=prefix is None and options.user, prefix=prefix
        )
    print(f"the kernel {options.name} is in {place}")


def _uninstall(options):
    from jupyter_client.kernelspec import KernelSpecManager

    prefix = sys.prefix if options.sys_prefix else options.prefix
    manager = KernelSpecManager()
    if prefix:
        manager.kernel_dirs = [os.path.join(prefix, "share/jupyter/kernels")]
    if options.name not in manager.find_kernel_specs():
        sys.exit(f"rtrain-jupyter: Jupyter knows no kernel {options.name}: `jupyter kernelspec list` shows them")
    if _MODULE not in manager.get_kernel_spec(options.name).argv:
        sys.exit(f"rtrain-jupyter: the kernel {options.name} is not one of rtrain")
    print(f"removed {manager.remove_kernel_spec(options.name)}")


def _add_places(command, what):
    places = command.add_mutually_exclusive_group()
    places.add_argument("--prefix", help=f"{what} below this folder, in share/jupyter/kernels")
    places.add_argument("--sys-prefix", action="store_true", help=f"{what} in this Python's environment")
    return places


def main(words=None):
    parser = argparse.ArgumentParser(prog="rtrain-jupyter", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    install = commands.add_parser("install", help="register the kernel")
    _add_places(install, "register it").add_argument("--user", action="store_true", help="register it for this user")
    install.add_argument("--name", default=_NAME, help="of the kernel (default %(default)s)")
    install.add_argument("--display-name", help="what Jupyter shows")
    install.add_argument("--executable", help="the rtrain to run; default: the one next to this Python, else in PATH")
    install.set_defaults(call=_install)
    uninstall = commands.add_parser("uninstall", help="remove the kernel")
    _add_places(uninstall, "remove it")
    uninstall.add_argument("--name", default=_NAME, help="of the kernel (default %(default)s)")
    uninstall.set_defaults(call=_uninstall)
    options = parser.parse_args(words)
    if options.call is _install and not (options.user or options.prefix or options.sys_prefix):
        # As a virtual environment's Jupyter finds it; without one as the user's.
        options.sys_prefix = sys.prefix != sys.base_prefix
        options.user = not options.sys_prefix
    try:
        options.call(options)
    except ModuleNotFoundError as error:
        sys.exit(f"rtrain-jupyter: {error}: pip install 'rtrain[jupyter]'")
    except OSError as error:
        sys.exit(f"rtrain-jupyter: {error}")


if __name__ == "__main__":
    main()
