printf 'kernel k on sm_90\nsimt op cost\n' | spad sim -
