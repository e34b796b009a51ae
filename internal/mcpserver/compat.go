package mcpserver

// setCompat offers the tools under the names that another program has for them.
const setCompat = "compat"

func compat([]Tool) []Tool { return nil }
