printf 'kernel k on sm_90\ncounter c\nsimt op cost 5 ns\ntake c\n' | spad sim -
