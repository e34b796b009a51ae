for name; do
	path=$(command -v -- "$name") && printf '%s=%s\n' "$name" "$path"
done
:
