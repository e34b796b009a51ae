# Finds the display by python-xlib, moves the pointer and presses a key on a window of its
# own, and says where the pointer is and how many presses came.
import select
import time

from Xlib import X, XK, display
from Xlib.ext import xtest

d = display.Display()
s = d.screen()
w = s.root.create_window(0, 0, 100, 100, 0, s.root_depth, event_mask=X.KeyPressMask | X.ExposureMask)
w.map()
while d.next_event().type != X.Expose:
    pass
w.set_input_focus(X.RevertToParent, X.CurrentTime)
xtest.fake_input(d, X.MotionNotify, x=50, y=60)
key = d.keysym_to_keycode(XK.XK_a)
xtest.fake_input(d, X.KeyPress, key)
xtest.fake_input(d, X.KeyRelease, key)
d.sync()
at = s.root.query_pointer()
print("pointer", at.root_x, at.root_y)
presses, end = 0, time.time() + 10
while presses == 0 and time.time() < end:
    select.select([d], [], [], 0.1)
    while d.pending_events():
        presses += d.next_event().type == X.KeyPress
print("key", presses)
