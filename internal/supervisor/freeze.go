package supervisor

import "errors"

// errUnsettled says that a workspace makes processes faster than they can be
// stopped.
var errUnsettled = errors.New("new processes appear faster than they can be stopped; limit them (--pids, --memory) or stop the workspace")
