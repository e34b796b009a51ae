// Package rfb checks the VNC protocol between a viewer on this machine and the server of a
// workspace's hidden display: password, known messages, input only under takeover. The
// protocol is RFB 3.8, RFC 6143.
//
// The VNC server reads what hostile programs paint, so it runs in walls and knows no
// secret: it is started for one viewer, on a pair of sockets that no other process can
// reach, and asks for no password. What faces the machine is this package. A [Service]
// listens, finds out whether the caller may, and only then has a server started:
//
// # Who may
//
// Each watch has a password of its own ([Service.Admit]), 8 characters, as the protocol's DES
// counts no more. It is never sent; the viewer enciphers 16 random bytes with it. Every user of
// the machine can reach ports of the loopback. So a connection's owner is asked for first
// ([Config.Mine]). After a few wrong passwords in a minute no connection gets further
// ([maxWrong]). One viewer watches at a time; the next is turned away with the reason, in words
// that its viewer shows.
//
// # Looking and acting
//
// What the server sends is copied. What the viewer sends is cut into messages
// ([readMessage]), and only known ones of the right length go on: how pixels look,
// which part is wanted, keys and pointer. Keys and pointer go on while input is allowed
// ([Service.SetInput]) and the password was given to a person who may act; else they
// are dropped. So taking over and handing back need no new connection, and the server
// has no part in that decision. When input ends, whatever the viewer still holds down
// is let go.
//
// The viewer's clipboard never goes on, its extensions neither: encodings are passed by
// a list, so that the server offers none that has messages of its own. A message that
// is not known ends the connection, as it cannot be told where the next one begins.
package rfb
