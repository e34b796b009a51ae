// Package fdpass hands descriptors over Unix sockets, unix(7), together with the bytes of
// a protocol that is made of lines: it keeps what comes with a line, bounded, and says
// what a descriptor is before its receiver relies on it.
//
// It knows no protocol, and decides nothing.
package fdpass
