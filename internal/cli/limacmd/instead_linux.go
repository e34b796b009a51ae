package limacmd

import "carrel/internal/cli/cmdenv"

// Instead does nothing in place of this program, which has walls here.
func Instead(*cmdenv.Env, []string) (done bool, err error) { return false, nil }
