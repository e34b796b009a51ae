package history

// Argv copies a command line, which is bytes.
func Argv(argv []string) []Bytes {
	out := make([]Bytes, len(argv))
	for i, a := range argv {
		out[i] = Bytes(a)
	}
	return out
}
