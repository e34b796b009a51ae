for turn in "$@"; do
  case $turn in [0-9]) ;; *) continue ;; esac
  until grep -qs "\"r$turn\"" ~/.claude/.credentials.json; do sleep 0.02; done
  next=$((turn+1))
  printf '{"claudeAiOauth":{"refreshToken":"r%d","expiresAt":%d000}}' $next $next > ~/.claude/.new && mv ~/.claude/.new ~/.claude/.credentials.json
  echo "renewed $turn"
done
