package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads a number of bytes: "512MiB", "2g", "1.5GiB", "1048576". The
// units k, m, g, t and KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB and TB
// are powers of 1000. Letter case does not matter. 0 is no limit.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "bBiIkKmMgGtT")
	unit, ok := sizeUnit(strings.ToLower(s[len(digits):]))
	n, err := strconv.ParseFloat(digits, 64)
	plain := strings.Trim(digits, "0123456789.") == ""
	if !ok || err != nil || !plain || digits == "" {
		return 0, fmt.Errorf("%q is not a size: write it like 512MiB or 2g", s)
	}
	if n *= float64(unit); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is more than any machine has", s)
	}
	if whole, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return whole * unit, nil
	}
	return int64(n), nil
}

func sizeUnit(u string) (int64, bool) {
	switch u {
	case "", "b":
		return 1, true
	case "k", "kib":
		return 1 << 10, true
	case "m", "mib":
		return 1 << 20, true
	case "g", "gib":
		return 1 << 30, true
	case "t", "tib":
		return 1 << 40, true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "tb":
		return 1e12, true
	}
	return 0, false
}

// ParseDuration reads a duration with units: "30s", "5m", "1h30m". "0" is no
// limit; any other number without a unit is a mistake.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write it like 30s, 5m or 1h30m", s)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return d, nil
}

// ParseCount reads a number of processes; 0 is no limit.
func ParseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is out of range", s)
	case err != nil || n < 0 || s != strconv.FormatInt(n, 10):
		return 0, fmt.Errorf("%q is not a whole number of 0 or more", s)
	}
	return n, nil
}
