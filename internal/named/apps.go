package named

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/api"
)

// maxAppName bounds the name of an app, in bytes.
const maxAppName = 64

// AppName is what an app is called that wants a name: of one that is too long, the characters that fit.
func AppName(wanted string) string {
	if len(wanted) <= maxAppName {
		return wanted
	}
	n := maxAppName
	for n > maxAppName-utf8.UTFMax && !utf8.RuneStart(wanted[n]) {
		n--
	}
	return wanted[:n]
}

// PickApp gives the place of the app that an id, its beginning, or a name means, in a list with
// the newest last: one that runs before one that has ended, the newest before others of its name.
func PickApp(op, workspace string, apps []api.App, word string) (int, error) {
	var found []int
	for i, a := range slices.Backward(apps) {
		if a.ID == word {
			return i, nil
		}
		if a.Name == word && (len(found) == 0 || a.Running && !apps[found[0]].Running) {
			found = []int{i}
		}
	}
	if len(found) == 0 && word != "" {
		for i, a := range apps {
			if strings.HasPrefix(a.ID, word) {
				found = append(found, i)
			}
		}
	}
	subject := word[:min(len(word), maxName)]
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, api.Refused(api.CodeNoApp, op, subject, fmt.Sprintf("there is no app %q", subject), "`carrel apps "+workspace+"` lists them")
	}
	return 0, api.Refused(api.CodeNoApp, op, subject, fmt.Sprintf("several apps begin with %q", subject), "give more of the id")
}
