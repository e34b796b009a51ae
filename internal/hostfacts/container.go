package hostfacts

import "carrel/internal/incontainer"

// Container says how the container that we are in is started so that we may make namespaces,
// and how as an ordinary user. Both are empty where we are in none that is known.
func Container() (opened, asUser string) {
	kind := incontainer.Host().Kind()
	if kind == "" {
		return "", ""
	}
	return incontainer.Opened(kind), incontainer.AsUser(kind)
}
