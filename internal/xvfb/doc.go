// Package xvfb knows how a virtual X display is started, and holds its number.
//
// # Words
//
//   - number: N of DISPLAY=:N. A workspace takes the first free one from [First] up, or
//     one at random where [Last] is not enough, and keeps it until it ends. [Claim] holds
//     it by two things that the kernel gives back at every kind of end: a lock on the
//     display's directory, and the abstract socket name that X servers use, bound and
//     never listened on. So two processes cannot have one number, and another user's
//     server does not take it meanwhile. A client inside that tries the abstract name
//     first is refused there at once.
//   - place: the display's directory, 0700, with two in it: that in which the server
//     makes its socket, and that which programs inside see as /tmp/.X11-unix.
//   - cookie: 16 random bytes of MIT-MAGIC-COOKIE-1. There are two: the server's,
//     which no program inside knows, and that of the inside.
//
// # What is not here
//
// Nothing is started here: package gui runs these programs in walls of
// their own, since they parse what hostile clients send. Nothing of others is ever
// removed either: not a lock file, not a socket in /tmp. A directory that a killed
// supervisor has left is recognised by its free lock, and removed by [Sweep].
package xvfb
