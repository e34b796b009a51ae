// Package judged reads files that decide by their content whether a change may be made. It puts
// what was read in the place of another file: a copy that no other process has open. Broker and
// interceptor share it.
package judged
