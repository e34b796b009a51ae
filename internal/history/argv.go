package history

// Argv copies a command line, which is bytes.
func Argv(argv []string) [][]byte {
	out := make([][]byte, len(argv))
	for i, a := range argv {
		out[i] = []byte(a)
	}
	return out
}
