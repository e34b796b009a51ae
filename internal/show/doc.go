// Package show prints what commands have to say, for people and for programs: text from anywhere
// made safe for a terminal and kept on its line, and names quoted where they need it. It has
// columns, counts and sizes, and JSON without bytes that a terminal acts on.
//
// It knows nothing of what is shown. It imports package api alone of this module, for text
// of any bytes in JSON.
package show
