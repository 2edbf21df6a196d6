"""What Jupyter starts: python -m rtrain_jupyter -f CONNECTION_FILE."""

from ipykernel.kernelapp import IPKernelApp

from .kernel import LuaKernel

# Nothing is printed in this process: without ipykernel's streams its end waits for none of them.
IPKernelApp.launch_instance(kernel_class=LuaKernel, outstream_class=None)
