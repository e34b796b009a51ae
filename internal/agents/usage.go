package agents

import (
	"slices"
	"strings"
)

// usage are hosts to which programs send how they are used, and their errors, or which they
// ask for a newer version of themselves. Agents do so at every start. Nothing fails where
// they are not reached.
var usage = []string{
	"ab.chatgpt.com", "api.segment.io", "datadoghq.com", "downloads.claude.ai", "featuregates.org", "i.posthog.com", "play.googleapis.com",
	"sentry.io", "statsig.anthropic.com", "statsig.com", "statsigapi.net", "telemetry.nextjs.org",
}

// HearsUsage says whether a host is one of those, or below one.
func HearsUsage(host string) bool {
	return slices.ContainsFunc(usage, func(of string) bool { return host == of || strings.HasSuffix(host, "."+of) })
}
