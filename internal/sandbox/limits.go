package sandbox

import "carrel/internal/policy"

// userLimits are the kernel's limits behind a nesting level.
func userLimits(nested policy.Nesting, uid uint32) []UserLimit {
	switch {
	case nested == policy.NestedNone:
		return []UserLimit{{"max_user_namespaces", 0}}
	case nested == policy.NestedUserns:
		return []UserLimit{{"max_mnt_namespaces", 0}}
	case uid == 0:
		// Whoever has a control group namespace and mounts may mount the machine's
		// control groups, whose files are uid 0's.
		return []UserLimit{{"max_cgroup_namespaces", 0}}
	}
	return nil
}
