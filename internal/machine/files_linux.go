package machine

import "carrel/internal/interceptor"

// Files serves places of this host to the kernel of a machine.
type Files = *interceptor.Server
