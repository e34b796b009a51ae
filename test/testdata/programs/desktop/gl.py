# Asks the display for OpenGL, as a program does that would paint by it.
from Xlib.display import Display

found = Display().query_extension("GLX")
print("GLX", "true" if found and found.present else "false")
