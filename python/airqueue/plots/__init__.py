"""Pictures of results, drawn with matplotlib; imported only where a picture was asked for."""

from airqueue import lazy

lazy.required("matplotlib")
