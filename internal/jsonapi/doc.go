// Package jsonapi answers programs that speak JSON Lines: one request a line on standard
// input, one response or event a line on standard output, log lines on standard error.
// It is the protocol of an older system, with its names, fields and codes, and all of it
// works; what is more than that has names that begin with "carrel.".
//
// [Operations] and [Events] are the tables of which the decoding, the manual's page and
// the JSON Schema are made. Nothing is decided here and nothing is done to a file: a
// session is a workspace, started as `carrel start` does with this process as its owner;
// commands and files are requests to its supervisor, and the rest are the operations of
// package op, which the command line calls too. So nothing can mean more here than it
// does there.
//
// A client is untrusted as far as its bytes go: lines, depth, numbers of requests and
// commands are bounded, and what is not understood is refused and changes nothing. It may
// do what its user may do at the command line, under the same ceiling.
package jsonapi
